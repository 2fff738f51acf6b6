// Package flagset holds the feature flags of organizations, each organization's as one set,
// ready to be evaluated.
//
// Memory promises that a set that is held is answered without asking the metadata store,
// without waiting and without an allocation; that a change is followed within a second while
// changes are heard of, and within 6 s otherwise, by one look at the versions of all sets that
// are held; that a set is replaced as a whole, and the earlier one serves until then; that none
// that is read is older than a change that was heard of before its reading began; and that
// while the store is away what is held answers for Config.Stale since it was last known to be
// right. Then, and for sets that are not held, the answer is that nobody knows, never that
// there is no such flag.
//
// It takes about Config.Bytes: sets that were not asked for lately give way, but none that
// somebody watches. One that is larger than all of it is held alone, since to read it for each
// caller would cost more. It does not say who may see a flag, and evaluates none.
package flagset
