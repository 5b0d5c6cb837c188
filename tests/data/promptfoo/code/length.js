module.exports = (output, context) => {
  const wanted = context.vars.topic.length;
  return `${output}`.length > wanted;
};
