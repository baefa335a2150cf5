; SPDX-License-Identifier: Apache-2.0
; What is coloured how, by the capture names that Neovim, Helix and tree-sitter's own tool know. Later
; patterns win.

(name) @variable
(type_name) @type
(comment) @comment
(doc_comment) @comment.documentation
(string) @string
(escape_sequence) @string.escape
(number) @number
(constant) @constant.builtin
(hole) @constant.builtin
"inf" @constant.builtin

["fuse" "import" "opset" "class" "fn" "pattern" "form" "op" "pipeline" "rule"] @keyword
["match" "rewrite" "gate" "escape" "numeric" "qdq" "verify" "hint" "as" "test"] @keyword
["let" "where" "unless" "many" "graph" "model" "zoo" "expect"] @keyword
["in" "priority" "once" "replaces" "then" "by" "keep" "axis" "if" "tolerance" "with" "outs" "all"] @keyword
["ordered" "flat" "spec" "region" "and" "or" "not"] @keyword.operator
["always" "measured" "forbid" "export" "duplicate" "exact" "wider" "reassociated" "approximate" "order" "gain"] @constant.builtin
["fires" "miss" "same" "nodes"] @keyword
["int" "ints" "floats" "strings" "tensor"] @type.builtin
(attribute_declaration ["float" "string"] @type.builtin)
(element_type) @type.builtin
(flag) @keyword.modifier

(rule name: (type_name) @type.definition)
(pattern name: (type_name) @type.definition)
(form name: (type_name) @type.definition)
(class name: (type_name) @type.definition)
(pipeline name: (name) @type.definition)
(phase (name) @constant)
(function name: (name) @function)
(call function: (name) @function.call)
(call function: (type_name) @constructor)
(operator) @constructor
(node (operator (type_name) @constructor))
(member member: (name) @variable.member)
(named_argument name: (name) @attribute)
(operand name: (name) @attribute)
(test attribute: (name) @attribute)
(attribute_declaration name: (name) @attribute)
(trait (name) @type.builtin)
(label (name) @label)
(capture (name) @variable.parameter)
(definition name: (name) @variable.parameter)

["->" "==" "!=" "<=" ">=" "<" ">" "=" "?" "??" "..." ".." "|" "+" "-" "*" "/" "%" "~" "@"] @operator
["(" ")" "[" "]" "{" "}"] @punctuation.bracket
["," ";" ":" "."] @punctuation.delimiter
