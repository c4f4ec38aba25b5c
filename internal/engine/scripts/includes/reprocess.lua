-- include: parent

-- isLIFO tells whether a job's options make it the next to be taken.
local function isLIFO(key)
  local opts = call("HGET", key, "opts")
  if not opts or not string.find(opts, '"lifo"', 1, true) then
    return false
  end
  local decoded = decode(opts)
  return decoded ~= nil and decoded.lifo == true
end

-- reprocess puts a finished job back to wait or prioritized (lifecycle 8.20). It becomes pending for its parent again.
-- It returns a code.
local function reprocess(base, id, from, resetAttempts)
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
    call("HDEL", key, "atm", "ats", "attemptsMade")
  end
  makeReady(base, id, priorityOf(key), isLIFO(key))
  attempt(reattach, key, from)
  emitTrimmed(base, "waiting", "jobId", id, "prev", from)
  return 0
end
