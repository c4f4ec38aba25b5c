// Package search finds jobs by what they hold: a small query language, and scans that look through lists of jobs
// within limits and can be continued where they ended.
//
// A query is terms, all of which must hold; the word and may stand between them.
//
//	refund                  in the id, the name or the error
//	"not found"             the same, with spaces
//	-refund                 not so
//	id:42                   the id; a * stands for any text: id:order-*
//	name:send  error:timed  in the name, in the first line of the error; name:=send is the whole name
//	queue:web               in the queue's name
//	state:failed,delayed    one of these states
//	data.customer.id:42     a value of the data, by its path: a.b[0], a[*].b, a."odd name"
//	data.total:>100         a number that is larger; also <, >=, <= and 10..20
//	data.coupon:*           there is such a value; *@example.com is text with any beginning
//	data:ada                in any value of the data
//	opts.priority:>0        the same for the options, by BullMQ's public names
//	attempts:>3             attempts made
//	age:>1h                 time since it ended, or, when it has not, since it was added
//	finished:14:00..14:10   when it ended: times of today, dates, or both as 2026-03-12T14:00
//	failure:3f9a01c2d4e5    failed jobs of one group of the failures page
//	letter:3f9a01c2d4e5     dead letters of one group
//
// Numbers are compared digit by digit and never become floating point. Masked members of a payload cannot be searched.
package search
