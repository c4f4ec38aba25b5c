package web

import (
	"bullpen/internal/engine/keys"
	"bullpen/internal/engine/policy"
	"bullpen/internal/web/openapi"
)

// actDoc says what an act does and what its JSON body may have beside "seen" and "confirm".
type actDoc struct {
	about string
	takes []openapi.Field
}

// Members that several acts take.
var (
	takeIDs   = openapi.Field{Name: "id", Type: "[]string", About: "the jobs, at most 1,000"}
	takeAll   = openapi.Field{Name: "all", Type: "boolean", About: "every job of the state, instead of id; runs as an operation"}
	takeQuery = openapi.Field{Name: "q", Type: "string", About: "with all: only those that match, in the search language"}
	takeNum   = openapi.Field{Name: "number", Type: "integer", About: "which proposal is meant", Required: true}
	takeWhy   = openapi.Field{Name: "why", Type: "string", About: "stays in the history", Required: true}
	takeApply = openapi.Field{Name: "apply", Type: "boolean", About: "approve it at once, where one person may"}
	takeData  = openapi.Field{Name: "data", About: "any JSON, stored as it is written; default {}"}
)

// takeState is the state that the chosen jobs are in.
func takeState(states ...keys.State) openapi.Field {
	f := openapi.Field{Name: "state", Type: "string", About: "the state they are in; default " + string(states[0])}
	for _, st := range states {
		f.Enum = append(f.Enum, string(st))
	}
	return f
}

// bulk are the members of an act on many jobs.
func bulk(states ...keys.State) []openapi.Field {
	return []openapi.Field{takeIDs, takeAll, takeState(states...), takeQuery}
}

// newJob are the members of a job to be added. Those of a duplicate are as in the original where they are left out.
func newJob(required bool) []openapi.Field {
	return []openapi.Field{
		{Name: "name", Type: "string", Required: required},
		takeData,
		{Name: "delay", Type: "string", About: "such as 30s or 2h"},
		{Name: "attempts", Type: "integer"},
		{Name: "priority", Type: "integer", About: "1 runs first; 0 is none"},
		{Name: "id", Type: "string", About: "default the next number"},
	}
}

// actDocs describes every act by its path.
func actDocs() map[string]actDoc {
	const queue, job, scheduler = "/queues/:queue", "/queues/:queue/jobs/:id", "/queues/:queue/schedulers/:scheduler"
	return map[string]actDoc{
		queue + "/pause":  {about: "Starts no more jobs of the queue."},
		queue + "/resume": {about: "Lets workers take jobs again."},
		queue + "/limit":  {"Starts nothing for a while.", []openapi.Field{{Name: "duration", Type: "string", About: "such as 30s or 5min", Required: true}}},
		queue + "/lift":   {about: "Ends a limit by hand."},
		queue + "/jobs":   {"Adds a job.", newJob(true)},
		queue + "/drain": {"Removes the jobs that have not started.", []openapi.Field{
			{Name: "delayed", Type: "boolean", About: "delayed ones too"},
		}},
		queue + "/obliterate": {"Deletes the queue. confirm is its name.", []openapi.Field{
			{Name: "force", Type: "boolean", About: "although jobs run, which lose their record"},
		}},
		queue + "/retry":   {"Runs jobs again.", bulk(retryable...)},
		queue + "/promote": {"Makes delayed jobs ready now.", bulk(promotable...)},
		queue + "/remove":  {"Removes jobs.", bulk(removable...)},
		queue + "/replay":  {"Puts the originals of dead letters back.", bulk(replayable...)},
		queue + "/clean": {"Removes old jobs.", []openapi.Field{
			takeState(cleanable...),
			{Name: "age", Type: "string", About: "older than this, such as 12h or 7d; 0 means all", Required: true},
			{Name: "limit", Type: "integer", About: "at most so many, oldest first; default no bound"},
		}},

		job + "/retry":   {about: "Runs the job again."},
		job + "/promote": {about: "Makes the delayed job ready now."},
		job + "/remove":  {about: "Removes the job with its data, traces, logs and children."},
		job + "/replay":  {about: "Puts the original of this dead letter back."},
		job + "/edit": {"Replaces the data of the job.", []openapi.Field{
			takeData,
			{Name: "version", Type: "string", About: "as told when it was read; the act is refused when the data has changed since"},
			{Name: "retry", Type: "boolean", About: "run it again with this data"},
		}},
		job + "/duplicate": {"Adds a job like this one.", newJob(false)},

		"/failures/:group/retry":          {about: "Runs the group's failed jobs again."},
		"/failures/:group/remove":         {about: "Removes the group's failed jobs."},
		"/failures/letters/:group/replay": {about: "Puts the originals of the group's dead letters back."},
		"/failures/letters/:group/remove": {about: "Removes the group's dead letters."},
		"/operations/:op/cancel":          {about: "Stops the operation; what was done stays done."},

		queue + "/schedule":   {"Makes a scheduler; without confirm it tells when that would fire.", newSchedule(true)},
		scheduler + "/run":    {about: "Adds one job of the scheduler's template now; the schedule stays as it is."},
		scheduler + "/edit":   {"Changes a scheduler; what is left out stays as it is. Without confirm it tells when it would fire then.", newSchedule(false)},
		scheduler + "/remove": {about: "Removes a scheduler, and its next job if that is delayed."},

		queue + "/policy/propose":  {"Proposes a change of the policy; what is left out stays as it is.", append(policyFields(), takeWhy, takeApply)},
		queue + "/policy/approve":  {"Makes the proposal live.", []openapi.Field{takeNum}},
		queue + "/policy/reject":   {"Rejects the proposal.", []openapi.Field{takeNum, {Name: "note", Type: "string", About: "why not"}}},
		queue + "/policy/rollback": {"Goes back to a revision.", []openapi.Field{{Name: "to", Type: "integer", About: "0 is the file", Required: true}, takeWhy, takeApply}},
	}
}

// policyFields are the settings a proposal may change.
func policyFields() (out []openapi.Field) {
	for _, in := range readPolicyForm(nil, policy.Policy{}.WithDefaults(), false).inputs {
		f := openapi.Field{Name: in.Name, Type: "string", About: in.Help}
		for _, o := range in.Options {
			f.Enum = append(f.Enum, o.Value)
		}
		out = append(out, f)
	}
	return out
}
