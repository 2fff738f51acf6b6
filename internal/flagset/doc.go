// Package flagset is what a process that serves feature flags remembers of them: all flags
// and segments of an organization as one set that does not change, replaced as a whole.
package flagset
