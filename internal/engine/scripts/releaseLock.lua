-- Drops the lock of a job; the job stays where it is (lifecycle 8.10).
--
-- KEYS[1]  meta of the queue
-- ARGV     legacy pause, id, token
--
-- Reply    1 if the token held the lock, else 0

-- include: call

local key, token = base .. text() .. ":lock", text()
if call("GET", key) == token then
  return call("DEL", key)
end
return 0
