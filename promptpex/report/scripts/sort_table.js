'use strict';
// Tables of the class "sortable": each heading becomes a button that sorts the rows by its column, up and then down.
(() => {
  const UP = 'ascending';
  const DOWN = 'descending';

  function keyOf(row, column) {
    const cell = row.cells[column];
    const given = cell.dataset.sort ?? cell.textContent.trim();
    const number = Number(given);
    return given !== '' && Number.isFinite(number) ? number : given;
  }

  function compare(one, other) {
    if (one === '' || other === '') return (one === '') - (other === '');
    if (typeof one === 'number' && typeof other === 'number') return one - other;
    return String(one).localeCompare(String(other), undefined, { numeric: true });
  }

  function sortBy(table, heading) {
    const down = heading.getAttribute('aria-sort') === UP;
    for (const other of heading.parentElement.cells) other.removeAttribute('aria-sort');
    heading.setAttribute('aria-sort', down ? DOWN : UP);
    const body = table.tBodies[0];
    const keyed = [...body.rows].map((row) => [keyOf(row, heading.cellIndex), row]);
    keyed.sort(([one], [other]) => (one === '' || other === '' || !down ? compare(one, other) : compare(other, one)));
    body.append(...keyed.map(([, row]) => row));
  }

  for (const table of document.querySelectorAll('table.sortable')) {
    for (const heading of table.tHead.rows[0].cells) {
      if (heading.querySelector('svg')) continue;
      const button = document.createElement('button');
      button.type = 'button';
      button.className = 'sort';
      button.append(...heading.childNodes);
      button.addEventListener('click', () => sortBy(table, heading));
      heading.append(button);
    }
  }
})();
