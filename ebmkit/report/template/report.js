"use strict";
const byId = (id) => document.getElementById(id);

const page = document.documentElement;
const button = byId("theme");
const likesDark = matchMedia("(prefers-color-scheme: dark)");
const isDark = () => (page.dataset.theme || (likesDark.matches ? "dark" : "light")) === "dark";
const offerTheOther = () => { button.textContent = isDark() ? "light" : "dark"; };
button.hidden = false;
button.onclick = () => { page.dataset.theme = isDark() ? "light" : "dark"; offerTheOther(); };
likesDark.onchange = offerTheOther;
offerTheOther();

const slider = byId("slider");
if (slider) {
  const frames = [...document.querySelectorAll(".strip img")];
  const show = () => {
    const now = frames[slider.value];
    byId("frame").src = now.src;
    byId("frame").alt = `Samples at ${now.alt}: ${now.dataset.words}`;
    byId("moment").textContent = now.alt;
    byId("words").textContent = now.dataset.words;
    slider.setAttribute("aria-valuetext", now.alt);
    for (const frame of frames) frame.parentElement.classList.toggle("now", frame === now);
  };
  slider.hidden = false;
  slider.oninput = show;
  frames.forEach((frame, position) => { frame.parentElement.onclick = () => { slider.value = position; show(); }; });
  show();
}

for (const copy of document.querySelectorAll(".copy")) {
  copy.hidden = false;
  copy.onclick = () => {
    getSelection().selectAllChildren(copy.parentElement.querySelector("code"));
    copy.textContent = document.execCommand("copy") ? "copied" : "press Ctrl+C";
  };
}
