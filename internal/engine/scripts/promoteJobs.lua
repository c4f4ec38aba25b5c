-- Makes delayed jobs ready now (lifecycle 8.12).
--
-- KEYS[1]  meta of the queue
-- ARGV     legacy pause, of many (1/0: the events are trimmed, lifecycle 6), number of ids, these
--
-- Reply    codes of the jobs
-- Codes    0 done; -1 delayed without a hash, and the id is dropped; -3 not delayed; -30 damaged keys
-- Events   waiting (prev delayed)

-- include: ready
-- include: util

local announce = flag() and emitTrimmed or emit

local function promote(id)
  local key = base .. id
  if call("ZREM", base .. "delayed", id) == 0 then
    return -3
  end
  if call("EXISTS", key) == 0 then
    return -1
  end
  makeReady(base, id, priorityOf(key), false)
  announce(base, "waiting", "jobId", id, "prev", "delayed")
  call("HSET", key, "delay", 0)
  return 0
end

local codes = {}
for i, id in ipairs(texts()) do
  codes[i] = attempt(promote, id)
end
return codes
