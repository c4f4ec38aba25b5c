-- Lets workers take jobs again (lifecycle 8.3) and moves what BullMQ 5.x left in the paused list back to wait, where it
-- is taken first. The caller repeats until nothing is left there.
--
-- KEYS[1]  meta of the queue
-- ARGV     legacy pause, first call (1/0)
--
-- Reply    number of ids left in the paused list
-- Events   resumed, on the first call

-- include: delayed

-- drainPaused appends up to 7000 ids at the taking end of wait, never overwriting it.
local function drainPaused()
  if call("EXISTS", base .. "paused") == 0 then
    return
  end
  if call("EXISTS", base .. "wait") == 0 then
    call("RENAME", base .. "paused", base .. "wait")
    return
  end
  local ids = call("LRANGE", base .. "paused", 0, 6999)
  inChunks("RPUSH", base .. "wait", ids)
  call("LTRIM", base .. "paused", #ids, -1)
end

call("HDEL", base .. "meta", "paused")
drainPaused()
if call("LLEN", base .. "wait") + call("ZCARD", base .. "prioritized") > 0 then
  call("ZADD", base .. "marker", 0, "0")
else
  markDelayed(base)
end
if flag() then
  emit(base, "resumed")
end
return call("LLEN", base .. "paused")
