// Package faultproxy stands between a client and a server and does to their TCP
// connections what networks and dying machines do: answers that are lost after
// the server has acted, connections cut in the middle of a request, silence,
// delays.
//
// It promises that what it lets through is unchanged and in order, that a rule
// takes effect on open connections as well as on new ones, and that it says how
// often a rule struck. It knows no protocol: a rule picks requests by a text that
// they contain, and takes a response for complete when the server has fallen
// silent after its last byte.
package faultproxy
