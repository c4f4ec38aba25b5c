-- Frees a deduplication id (features 3.3).
--
-- KEYS[1]  meta of the queue
-- ARGV     legacy pause, deduplication id, id of the job that must own it ("" = whoever)
--
-- Reply    1 if it was freed, else 0

-- include: call

local key, owner = base .. "de:" .. text(), text()
if owner ~= "" and call("GET", key) ~= owner then
  return 0
end
return call("DEL", key)
