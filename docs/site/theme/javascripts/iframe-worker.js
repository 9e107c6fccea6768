// Pages that are opened from a folder: browsers start no worker there, and the theme searches in one. A hidden frame
// runs the same script instead. The name of this file tells the theme's plugin that it needs no other script for that.
"use strict";

if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.body.append(frame);
      this.inside = frame.contentWindow;
      // The script answers by postMessage to itself: in a frame that has to go to the page.
      this.inside.postMessage = (data) => {
        const message = new MessageEvent("message", { data });
        this.dispatchEvent(message);
        this.onmessage?.(message);
      };
      this.ready = new Promise((loaded, failed) => {
        const script = this.inside.document.createElement("script");
        script.src = new URL(url, location.href);
        script.onload = loaded;
        script.onerror = failed;
        this.inside.document.body.append(script);
      });
    }

    postMessage(data) {
      this.ready.then(() => this.inside.dispatchEvent(new MessageEvent("message", { data })));
    }
  };
}
