package handler

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/bivouac-ml/bivouac/errs"
)

// ForSave returns the handler that saves v as the item of that name, by the
// rules of the package comment. errs.Invalid: v is nil; errs.NotFound: none does.
func (r *Registry) ForSave(name string, v any) (h CheckpointableHandler, err error) {
	var asked CheckpointableHandler
	defer func() {
		if p := recover(); p != nil {
			h, err = nil, panicked("handler "+asked.TypeString(), "Handles", p)
		}
	}()
	if v == nil {
		return nil, &errs.Error{Kind: errs.Invalid, Op: "handler.Registry.ForSave", Subject: "item " + strconv.Quote(name),
			Want: "a value", Got: "nil"}
	}
	entries := r.Entries()
	able := last(entries, func(h CheckpointableHandler) bool {
		asked = h
		return h.Handles(v)
	})
	if able != nil && savesItself(v) {
		return able, nil
	}
	if h := bound(entries, name); h != nil {
		return h, nil
	}
	if able != nil {
		return able, nil
	}
	return nil, &errs.Error{Kind: errs.NotFound, Op: "handler.Registry.ForSave",
		Subject: "handler of item " + strconv.Quote(name),
		Want:    fmt.Sprintf("one that takes a %T", v), Got: describe(entries),
		Remedy: "add a handler to the registry, or bind one to the name"}
}

// ForLoad returns the handler that loads the item of that name as abstract,
// which may be nil. typeString is what the checkpoint's metadata has recorded
// for it; "" = nothing. errs.NotFound: no handler does.
func (r *Registry) ForLoad(name string, abstract any, typeString string) (h CheckpointableHandler, err error) {
	var asked CheckpointableHandler
	defer func() {
		if p := recover(); p != nil {
			h, err = nil, panicked("handler "+asked.TypeString(), "HandlesAbstract", p)
		}
	}()
	entries := r.Entries()
	takes := func(h CheckpointableHandler) bool {
		asked = h
		return h != nil && h.HandlesAbstract(abstract) == Yes
	}
	mayLoad := func(h CheckpointableHandler) bool { return h != nil && (abstract == nil || takes(h)) }
	byName, byType := bound(entries, name), r.typed(entries, typeString)
	switch {
	case savesItself(abstract) && takes(byType):
		return byType, nil
	case mayLoad(byName):
		return byName, nil
	case mayLoad(byType):
		return byType, nil
	}
	if abstract != nil {
		if h := last(entries, takes); h != nil {
			return h, nil
		}
	}
	if byName != nil {
		return byName, nil
	}
	if h := bound(entries, ItemState); h != nil {
		return h, nil
	}
	want := "one of type string " + strconv.Quote(typeString)
	if abstract != nil {
		want += fmt.Sprintf(", or one that takes a %T", abstract)
	}
	return nil, &errs.Error{Kind: errs.NotFound, Op: "handler.Registry.ForLoad",
		Subject: "handler of item " + strconv.Quote(name),
		Want:    want, Got: describe(entries), Remedy: "add the handler that saved it"}
}

// bound returns the handler that is bound to name, or nil.
func bound(entries []Entry, name string) CheckpointableHandler {
	for _, e := range entries {
		if name != "" && e.Name == name {
			return e.Handler
		}
	}
	return nil
}

// last returns the last handler without a name that is able, or nil.
func last(entries []Entry, able func(CheckpointableHandler) bool) CheckpointableHandler {
	for _, e := range slices.Backward(entries) {
		if e.Name == "" && able(e.Handler) {
			return e.Handler
		}
	}
	return nil
}

// typed returns the last handler with that type string, or nil.
func (r *Registry) typed(entries []Entry, typeString string) CheckpointableHandler {
	if typeString == "" {
		return nil
	}
	for _, e := range slices.Backward(entries) {
		if e.Handler.TypeString() == typeString || slices.Contains(r.SecondaryTypeStrings(e.Handler), typeString) {
			return e.Handler
		}
	}
	return nil
}

func describe(entries []Entry) string {
	if len(entries) == 0 {
		return "an empty registry"
	}
	var names []string
	for _, e := range entries {
		short := e.Handler.TypeString()
		short = short[strings.LastIndexByte(short, '.')+1:]
		if e.Name != "" {
			short += "(" + e.Name + ")"
		}
		names = append(names, short)
	}
	return strings.Join(names, ", ")
}
