// The interactive timeline (README.md): these files are one script, in the order of CMakeLists.txt.
(function () {
"use strict";

// A page without data has no timeline, and neither has a browser that cannot unpack it.
if (!document.getElementById("tl-meta")) return;
