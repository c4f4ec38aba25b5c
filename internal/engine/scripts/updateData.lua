-- Replaces the data of a job (lifecycle 8.15).
--
-- KEYS[1]  meta of the queue
-- ARGV     legacy pause, id, data (JSON)
--
-- Reply    0 done; -1 no hash

-- include: call

local key = base .. text()
if call("EXISTS", key) == 0 then
  return -1
end
call("HSET", key, "data", text())
return 0
