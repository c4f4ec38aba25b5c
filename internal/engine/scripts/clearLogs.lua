-- Drops old rows of the log of a job (lifecycle 8.15).
--
-- KEYS[1]  meta of the queue
-- ARGV     legacy pause, id, rows to keep (0 = none)
--
-- Reply    0

-- include: call

local key, keep = base .. text() .. ":logs", number()
if keep > 0 then
  call("LTRIM", key, -keep, -1)
else
  call("DEL", key)
end
return 0
