-- SPDX-License-Identifier: GPL-2.0
-- Links between documents lead to their pages, and names of manual pages to these.

local pages = {}
local list = io.popen("find module lib tools libperfctr packaging -name '*.[1-8]'")
for file in list:lines() do
    pages[file:match("[^/]*$")] = true
end
list:close()

function Link(link)
    if not link.target:match("^%a+:") then
        link.target = link.target:gsub("%.md$", ".html"):gsub("%.md#", ".html#")
    end
    return link
end

-- Headings of manual pages have no identifiers, which the table of contents leads to.
function Header(header)
    if header.identifier == "" then
        header.identifier = pandoc.utils.stringify(header):lower():gsub("[^%w]+", "-")
    end
    return header
end

-- **perfex** followed by (1)
function Inlines(inlines)
    for i = 1, #inlines - 1 do
        local name, section = inlines[i], inlines[i + 1]
        if name.t == "Strong" and section.t == "Str" then
            local number = section.text:match("^%((%d)%)")
            local page = number and pandoc.utils.stringify(name) .. "." .. number
            if page and pages[page] and PANDOC_STATE.output_file:match("/man/[^/]*$") then
                inlines[i] = pandoc.Link(name.content, page .. ".html")
            end
        end
    end
    return inlines
end
