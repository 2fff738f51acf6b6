// Package millrace sends events to a Millrace ingestion host: custom events, one
// by one or in batches, and what is known about people.
//
//	client, err := millrace.New(os.Getenv("MILLRACE_API_KEY"), millrace.WithWebsiteID("web_123"))
//	if err != nil {
//		return err
//	}
//	defer client.Close(context.Background())
//	client.Track(ctx, millrace.Event{Name: "signup", ProfileID: "user-1"})
//
// # What is promised
//
// An event that Track reported as queued is sent until the host has it or rejects
// it for good; what becomes of it is told to OnResult, and a rejection to the next
// Flush and to the log as well. Each event has an id and a time from the moment it
// is tracked, so that however often it is sent it is stored once. When the queue is
// full a new event is rejected with QUEUE_FULL; nothing that was taken is given up
// for it. One event of a batch that is rejected for good does not take the others with it;
// a failure that may pass, such as 503 for one of several websites, holds up those behind it
// until it has passed.
//
// Failures of delivery are results and never panics; [Result.Err] makes an error
// of one. All methods may be called from many goroutines. Every call ends when its
// context does. While nothing is queued the client runs no goroutine of its own, and
// after Close neither it nor its connections do.
//
// # What is not
//
// The queue is in memory. A program that ends without Close loses what it has not
// sent, and so does a Close whose context ends before the host can be reached; its
// result says which events those are. Events may arrive in another order than they
// were tracked; their times are right.
package millrace

// Version is the version of this client. Every request carries it in its
// User-Agent.
const Version = "2.0.0"

const userAgent = "millrace-go/" + Version
