// Package admission decides whether there is room for a request before the
// request takes any: how much memory all of them may hold, how long they may
// wait, and how much of both one caller may have.
//
// A Gate has a budget of bytes. Whoever is about to allocate takes a Claim on
// it, for what is measured to be needed, and gives it back when the memory is
// free again. Three things reject a claim:
//
//   - memory: the budget is used up. Large claims leave an eighth of it to small
//     ones, and bodies that still arrive take at most half, so that those that
//     have arrived can be worked on; so do answers that wait for their clients.
//   - share: the caller holds more than the others have left. A website may hold
//     as much as is free, and so never more than half; an organization four times
//     as much as is free. Of bodies that still arrive an address may hold half of
//     what they may take. Whoever holds nothing is not judged by it.
//   - queue: what was let in waits too long. The wait is the requests at work
//     divided by those that were finished lately (Little's law), so it is the same
//     whether Kafka or the processor is slow, and one large request is no queue.
//     While it exceeds the target, no more are let in than can be finished within
//     the target, and beyond that as many again of callers that hold little; shares are
//     counted in requests too.
//
// A rejection is a ServiceUnavailable error that names a wait of 2 to 10 seconds. While more
// is rejected than done, Pause says how long to hold it back. A
// large claim that only lacks memory waits a little for it; a small one never
// does.
//
// Nothing here knows what a request is. A claim costs some atomic additions and
// no memory of its own.
package admission
