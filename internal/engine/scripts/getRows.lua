-- Reads what a list shows of some jobs, never their payloads (lifecycle 9). Reads only.
--
-- KEYS[1]  meta of the queue
-- ARGV     legacy pause, number of ids, these
--
-- Reply    for each id its cells, see includes/row.lua

-- include: row

local rows = {}
for i, id in ipairs(texts()) do
  rows[i] = safeRow(base, id)
end
return rows
