// Package query reads for hosts: it runs the statements of questions within bounds, tells
// versions and dirty days of what they are about, reads exports, and counts usage and clicks.
//
// It promises to write nothing, and that a server that is away, hangs or is slow is told from
// a statement that is wrong. Any replica answers.
package query
