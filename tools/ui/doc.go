// Package ui tests the page of `bivouac ui` in headless Chromium. It is a module of its own, so
// that nothing else links what drives the browser. Without Chromium these tests are skipped; with
// BIVOUAC_REQUIRE_CHROMIUM=1 they fail.
package ui
