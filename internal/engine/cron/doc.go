// Package cron evaluates the cron patterns of job schedulers with the grammar and the clock-change rules of the
// evaluator BullMQ uses (features 1.7 and 1.8), so that every process of a mixed fleet computes the same next run. It
// is pure and imports the standard library only.
package cron
