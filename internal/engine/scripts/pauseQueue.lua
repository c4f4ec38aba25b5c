-- Keeps workers from taking jobs (lifecycle 8.2). With legacy pause the waiting jobs move to the paused list, to which a
-- BullMQ 5.x adds meanwhile (lifecycle 12.1).
--
-- KEYS[1]  meta of the queue
-- ARGV     legacy pause
--
-- Reply    0
-- Events   paused

-- include: events

-- moveWaiting appends the waiting jobs behind those already in the paused list, which were there first.
local function moveWaiting()
  local ids = call("LRANGE", base .. "wait", 0, -1)
  if #ids > 0 and call("EXISTS", base .. "paused") == 0 then
    call("RENAME", base .. "wait", base .. "paused")
  elseif #ids > 0 then
    for i = #ids, 1, -1 do
      call("LPUSH", base .. "paused", ids[i])
    end
    call("DEL", base .. "wait")
  end
end

if legacyPause then
  moveWaiting()
end
call("HSET", base .. "meta", "paused", 1)
call("DEL", base .. "marker")
emit(base, "paused")
return 0
