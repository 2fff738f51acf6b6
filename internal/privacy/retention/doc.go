// Package retention deletes what websites do not want kept any longer.
//
// A website that keeps N days keeps the current UTC day and the N days before it,
// by the day on which an event happened: nothing is deleted before it is N times
// 24 hours old, and everything is within 24 hours after that. What is older than
// that and arrives later is deleted by the next pass. A website without a number
// keeps everything.
//
// A pass covers all websites at once, and every table that has anything of them,
// rollups included; of what was sent only the counts that bills are made of stay.
// It bears to be broken off anywhere and to be made twice.
//
// A clock that is wrong deletes what nobody can bring back, so a pass is not made
// while this process and the database disagree about the time.
package retention
