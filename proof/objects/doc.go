// Package objects holds tests of training runs in object stores: in one in memory, and in a real
// server.
package objects
