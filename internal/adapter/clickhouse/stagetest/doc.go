// Package stagetest gives tests migrated databases, what stores and deletes there, and rows
// that go together.
package stagetest
