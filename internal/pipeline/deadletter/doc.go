// Package deadletter says what stands in a dead letter topic, and looks after it:
// it lists letters, sends them again and parks them.
//
// # A letter
//
// A record that cannot be stored goes to the topic named after its own with
// Suffix: the original key, value and headers, and after them the headers of this
// package. Of a record that is too large for that topic only the beginning is kept, and
// HeaderCut says how large it was. The headers are the contract; of a key that occurs twice the last one
// counts, so nothing that an original record says of itself is believed. Letters
// are sent again when an acknowledgement was lost, so the same one may be there
// twice: its id, made of source coordinates and content, tells.
//
// # Sending again
//
// A letter goes back to the topic that it came from, with its key, value and
// headers as they were, so that the event keeps its identity and its time of
// receipt; the headers replay and hops are added. Values are never changed: a
// replay is of use once whatever rejected the record has been repaired.
//
// What became of letters stands in the compacted topic MarksTopic. A letter is
// marked before it is sent and again when its record is acknowledged. Whoever
// finds the first mark without the second looks for the record in the topic
// itself before sending another, so a crash neither loses a letter nor sends it
// twice. Two replays at the same time leave a letter to the one that marked it
// first.
//
// # What is rejected
//
// A letter whose headers are not understood, or whose reason is not in Reasons,
// ends Replay and Park before anything is sent: it was written by something that
// this build does not know. Letters that were sent MaxHops times are parked
// instead of sent, and those for whose reason a replay is pointless are only sent
// when forced. One of which only the beginning was kept, or that is too large for
// a batch, is never sent. How long letters are kept is the topic's retention;
// parking does not prolong it.
package deadletter
