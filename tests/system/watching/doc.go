// Package watching holds what can only be seen of the whole product at work: that
// it exports what dashboards and alerts ask for, that its probe goes the way of
// events, and that one trace goes with them.
package watching
