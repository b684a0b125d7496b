"""What keeps people from a page in a browser: those who hear it, use a keyboard, or see little contrast."""

from __future__ import annotations

from typing import Any

from browser import Tab

CONTRASTS = """
(() => {
  const parts = text => text.match(/[\\d.]+/g).map(Number);
  const light = ([r, g, b]) => [r, g, b].map(c => c / 255).map(c => c <= .04045 ? c / 12.92 : ((c + .055) / 1.055) ** 2.4)
    .reduce((sum, c, at) => sum + c * [.2126, .7152, .0722][at], 0);
  const ground = one => {
    for (; one; one = one.parentElement) {
      const [r, g, b, a = 1] = parts(getComputedStyle(one).backgroundColor);
      if (a) return [r, g, b];
    }
    return [255, 255, 255];
  };
  const isShown = one => getComputedStyle(one).clipPath !== "inset(50%)";
  return [...document.querySelectorAll("body *")].filter(one => isShown(one) && !["SCRIPT", "STYLE", "NOSCRIPT", "TITLE"].includes(one.tagName)
      && [...one.childNodes].some(node => node.nodeType === 3 && node.textContent.trim())).map(one => {
    const [low, high] = [light(parts(getComputedStyle(one).color)), light(ground(one))].sort((a, b) => a - b);
    return [(high + .05) / (low + .05), one.outerHTML.slice(0, 90)];
  }).filter(([ratio]) => ratio < 4.5);
})()
"""
"""Texts whose contrast is below 4.5, with it."""

ELEMENTS = """
(() => {
  const all = selector => [...document.querySelectorAll(selector)];
  const excerpts = (problem, elements) => elements.map(element => `${problem}: ${element.outerHTML.slice(0, 90)}`);
  const levels = all("h1, h2, h3, h4, h5, h6").map(element => Number(element.tagName[1]));
  const landmarks = "main, header, nav, footer, aside, [role=dialog], script, style, noscript, template";
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const outside = [];
  while (walker.nextNode()) {
    const parent = walker.currentNode.parentElement;
    if (walker.currentNode.textContent.trim() && !parent.closest(landmarks)) outside.push(parent);
  }
  return [
    ...(document.documentElement.lang ? [] : ["the page has no language"]),
    ...["main", "h1"].filter(name => all(name).length !== 1).map(name => `${all(name).length} elements ${name}`),
    ...levels.filter((level, at) => at && level > levels[at - 1] + 1).map(level => `a heading skips to level ${level}`),
    ...excerpts("a table without a caption", all("table").filter(table => !table.caption?.textContent)),
    ...excerpts("a head without a scope", all("th").filter(head => !["col", "row"].includes(head.scope))),
    ...excerpts("it comes first in the order of Tab", all("[tabindex]").filter(element => element.tabIndex > 0)),
    ...excerpts("an item outside of a list", all("li").filter(item => !["list", null].includes(item.parentElement.getAttribute("role")))),
    ...excerpts("a text outside of every landmark", outside),
  ];
})()
"""

ROLES_WITH_NAMES = {"link", "button", "textbox", "region", "image", "table", "dialog", "log", "checkbox", "radio", "searchbox"}


def barriers(tab: Tab) -> list[str]:
    """What is wrong with the open page, by its elements and by the tree that screen readers are given."""
    problems: list[str] = tab.run(ELEMENTS)
    problems += [f"contrast {ratio:.2f}: {element}" for ratio, element in tab.run(CONTRASTS)]
    nodes: list[dict[str, Any]] = tab.send("Accessibility.getFullAXTree")["nodes"]
    roles = {node["nodeId"]: node["role"]["value"] for node in nodes if not node["ignored"]}
    for node in nodes:
        role = roles.get(node["nodeId"], "")
        is_focusable = any(entry["name"] == "focusable" and entry["value"]["value"] for entry in node.get("properties", ()))
        has_name = bool(node.get("name", {}).get("value", "").strip())
        if (role in ROLES_WITH_NAMES or (is_focusable and role != "RootWebArea")) and not has_name:
            problems.append(f"a {role} without a name")
    return problems


def focus_order(tab: Tab, count: int) -> list[tuple[int, bool]]:
    """The places in the document of what Tab leads to, one after the other, and whether each shows that it has the focus."""
    order = []
    for _ in range(count):
        for kind in ("keyDown", "keyUp"):
            tab.send("Input.dispatchKeyEvent", type=kind, key="Tab", code="Tab", windowsVirtualKeyCode=9)
        place, is_seen = tab.run(
            "[[...document.querySelectorAll('*')].indexOf(document.activeElement), getComputedStyle(document.activeElement).outlineStyle !== 'none']"
        )
        order.append((place, is_seen))
    return order
