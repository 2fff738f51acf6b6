// Package deletion takes rows away: what tombstones cover, what websites do not keep any
// longer, and the clicks of links that are gone.
//
// It promises that days which lose rows while their rollups stay are listed as dirty before
// anything is deleted, that statements hold hashes and never an id of a visitor, and that
// doing it again changes nothing. What is deleted is gone from queries at once, and from disks when the server
// merges, or within a week.
package deletion
