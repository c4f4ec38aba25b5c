-- Renews the locks of active jobs (lifecycle 8.10).
--
-- KEYS[1]  meta of the queue
-- ARGV     legacy pause, duration (ms), number of jobs, and for each job: id, token
--
-- Reply    ids of the jobs whose lock is gone or belongs to another token

-- include: call

local duration = text()
local lost = {}
for _ = 1, number() do
  local id, token = text(), text()
  local key = base .. id .. ":lock"
  -- A key of another type is no lock either, and the rest of the batch is to be renewed.
  if redis.pcall("GET", key) == token then
    call("SET", key, token, "PX", duration)
    call("SREM", base .. "stalled", id)
  else
    lost[#lost + 1] = id
  end
end
return lost
