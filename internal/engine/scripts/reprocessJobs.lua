-- Puts finished jobs back to wait or prioritized (lifecycle 8.20); children become pending for their parents again.
--
-- KEYS[1]  meta of the queue
-- ARGV     legacy pause, state they leave (completed or failed), set attempts to zero (1/0), number of ids, these
--
-- Reply    codes of the jobs
-- Codes    0 done; -1 no hash, and the id is dropped; -3 not in that state; -30 damaged keys
-- Events   waiting (prev completed or failed)

-- include: parent

local from, resetAttempts = text(), flag()

-- isLIFO tells whether a job's options make it the next to be taken.
local function isLIFO(key)
  local opts = call("HGET", key, "opts")
  if not opts or not string.find(opts, '"lifo"', 1, true) then
    return false
  end
  local decoded = decode(opts)
  return decoded ~= nil and decoded.lifo == true
end

local function reprocess(id)
  local key = base .. id
  if call("EXISTS", key) == 0 then
    call("ZREM", base .. from, id)
    return -1
  end
  if call("ZREM", base .. from, id) == 0 then
    return -3
  end
  call("HDEL", key, "finishedOn", "processedOn", from == "failed" and "failedReason" or "returnvalue")
  if resetAttempts then
    call("HDEL", key, "atm", "ats")
  end
  makeReady(base, id, priorityOf(key), isLIFO(key))
  reattach(key, from)
  emitTrimmed(base, "waiting", "jobId", id, "prev", from)
  return 0
end

local codes = {}
for i, id in ipairs(texts()) do
  codes[i] = attempt(reprocess, id)
end
return codes
