// SPDX-License-Identifier: GPL-2.0
// The pages that have all words of ?q=, those first that have them in the title, then those that
// have them most often.  pages has the title, the address and the text of each.

const around = 80

function count(text, word) {
	return text.split(word).length - 1
}

function search(query) {
	const words = query.toLowerCase().split(/\s+/).filter(word => word)
	const found = []

	for (const [title, address, text] of pages) {
		const all = (title + " " + text).toLowerCase()
		if (words.length && words.every(word => all.includes(word)))
			found.push({
				title, address, text,
				at: text.toLowerCase().indexOf(words[0]),
				titled: words.every(word => title.toLowerCase().includes(word)),
				times: Math.min(...words.map(word => count(all, word))),
			})
	}
	return found.sort((a, b) => b.titled - a.titled || b.times - a.times)
}

const query = new URLSearchParams(location.search).get("q") || ""
if (query) {
	const found = search(query)

	document.querySelector("input[name=q]").value = query
	document.getElementById("said").textContent = `${found.length} pages have all of: ${query}`
	for (const page of found) {
		const item = document.createElement("li"), link = document.createElement("a")
		link.href = page.address
		link.textContent = page.title
		item.append(link)
		if (page.at >= 0)
			item.append(": ... " + page.text.slice(Math.max(0, page.at - around), page.at + around) + " ...")
		document.getElementById("found").append(item)
	}
}
