-- Appends a row to the log of a job (lifecycle 8.15).
--
-- KEYS[1]  meta of the queue
-- ARGV     legacy pause, id, row, rows to keep (0 = all)
--
-- Reply    number of rows kept; -1 no hash

-- include: call

local key, row, keep = base .. text(), text(), number()
if call("EXISTS", key) == 0 then
  return -1
end
local rows = call("RPUSH", key .. ":logs", row)
if keep > 0 then
  call("LTRIM", key .. ":logs", -keep, -1)
  return math.min(keep, rows)
end
return rows
