function atMost(output, { vars }) {
  return output.length <= Number(vars.limit) * 2;
}
module.exports = { atMost };
