-- Tells how a job ended, and with what (lifecycle 9). Reads only.
--
-- KEYS[1]  meta of the queue
-- ARGV     legacy pause, id
--
-- Reply    "completed" and the return value, "failed" and the reason, or "" and "" while it has not ended; -1 no hash

-- include: call

local id = text()
if call("EXISTS", base .. id) == 0 then
  return -1
end
if call("ZSCORE", base .. "completed", id) then
  return {"completed", call("HGET", base .. id, "returnvalue") or ""}
end
if call("ZSCORE", base .. "failed", id) then
  return {"failed", call("HGET", base .. id, "failedReason") or ""}
end
return {"", ""}
