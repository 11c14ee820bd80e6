// Package provided is the registry of parts that package handler needs but cannot import: the
// engine for trees, in package checkpoint, and the codec for messages, in package protohandler. The
// parts register themselves in their init functions, so that a program links only the parts that it
// imports.
package provided

import (
	"sync"

	"github.com/bivouac-ml/bivouac/errs"
)

// Role is the purpose of a part. Package handler has the interface of each role.
type Role string

// The roles.
const (
	Trees    Role = "engine for trees"
	Messages Role = "codec for messages"
)

// Registry holds one part per role. Several goroutines may use it.
type Registry struct {
	mu    sync.RWMutex
	parts map[Role]any
}

// Enter registers part for role. It panics if role has a part already, because two packages of the
// program then claim the role in their init functions.
func (r *Registry) Enter(role Role, part any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, taken := r.parts[role]; taken {
		panic(&errs.Error{Kind: errs.Exists, Op: "provided.Enter", Subject: string(role),
			Remedy: "link one package that provides it"})
	}
	if r.parts == nil {
		r.parts = map[Role]any{}
	}
	r.parts[role] = part
}

// Part returns the part for role, or nil if the program does not link one.
func (r *Registry) Part(role Role) any {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.parts[role]
}

var process Registry

// Enter enters a part into the registry of the process. Call it from an init function.
func Enter(role Role, part any) { process.Enter(role, part) }

// Part returns the part for role from the registry of the process, or nil.
func Part(role Role) any { return process.Part(role) }
