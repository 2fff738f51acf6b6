// Package compose reads deploy/compose as Docker does, and holds what it says
// against what the daemons accept.
package compose
