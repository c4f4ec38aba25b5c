-- Counts the jobs of a queue by state (lifecycle 9). Reads only.
--
-- KEYS[1]  meta of the queue
-- ARGV     legacy pause
--
-- Reply    number of jobs waiting (the paused list counts as waiting), prioritized, active, delayed, waiting for
--          children, completed, failed

-- include: call

return {
  call("LLEN", base .. "wait") + call("LLEN", base .. "paused"), call("ZCARD", base .. "prioritized"),
  call("LLEN", base .. "active"), call("ZCARD", base .. "delayed"), call("ZCARD", base .. "waiting-children"),
  call("ZCARD", base .. "completed"), call("ZCARD", base .. "failed"),
}
