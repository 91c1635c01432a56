// SPDX-License-Identifier: GPL-2.0
// Play the cast of the first session: the size, then seconds and texts.  A button, or the wish for
// no motion, shows all of it at once.

const screen = document.getElementById("session")
const timers = []

function play() {
	screen.textContent = ""
	for (const [second, , text] of cast.slice(1))
		timers.push(setTimeout(() => screen.append(text.replace("\r", "")), 1000 * second))
}

function stop() {
	timers.splice(0).forEach(clearTimeout)
}

function showAll() {
	stop()
	screen.textContent = cast.slice(1).map(piece => piece[2]).join("").replaceAll("\r", "")
}

document.getElementById("again").onclick = () => { stop(); play() }
document.getElementById("all").onclick = showAll
if (matchMedia("(prefers-reduced-motion: reduce)").matches)
	showAll()
else
	play()
