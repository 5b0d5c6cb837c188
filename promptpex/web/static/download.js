'use strict';
// The grades of the offline page as a file, to be taken in with promptpex grade --import.
(() => {
  const own = globalThis.promptpex;
  const KEPT_MS = 60000; // a browser may ask the person where to put it

  own.wireDownload = (desk) => {
    const download = () => {
      const address = URL.createObjectURL(new Blob([desk.lines()], { type: 'application/x-ndjson' }));
      own.make('a', { href: address, download: desk.file }).click();
      setTimeout(() => URL.revokeObjectURL(address), KEPT_MS);
      desk.markDownloaded();
      const { progress } = desk.progress();
      own.showProgress(progress);
      own.showFinish(progress);
    };
    for (const button of document.querySelectorAll('.download')) button.addEventListener('click', download);
    globalThis.addEventListener('beforeunload', (event) => {
      if (!desk.isSafe()) event.preventDefault();
    });
  };
})();
