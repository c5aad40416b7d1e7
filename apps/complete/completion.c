/* completion.c -- see completion.h. */
#include "complete/completion.h"

#include <sptrsm.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { WORDS = 1024 };
typedef void option_printer(const char *program, const struct argp_option *);

static void for_each(const struct argp_option *const tables[2], const char *program, option_printer *print) {
  for (int t = 0; t < 2; t++)
    for (const struct argp_option *o = tables[t]; o->name || o->key; o++)
      if (o->name) print(program, o);
}

/* ---- what the tables say of an option ---- */

static bool has_letter(const struct argp_option *o) { return o->key > ' ' && o->key < 127; }

/* The value is left out or follows in the same word: --option or --option=value. */
static bool is_optional(const struct argp_option *o) { return o->flags & OPTION_ARG_OPTIONAL; }

static bool is_file(const struct argp_option *o) { return strcmp(o->arg, "FILE") == 0; }

static void add_word(char words[WORDS], const char *word) {
  size_t used = strlen(words);
  snprintf(words + used, WORDS - used, "%s%s", used ? " " : "", word);
}

/* The values that can be offered, separated by blanks; "" if there are none. */
static void list_values(char words[WORDS], const struct argp_option *o) {
  words[0] = '\0';
  if (o->arg == NULL) return;
  if (strcmp(o->arg, "METHOD") == 0) {
    sptrsm_method_info m = {.size = sizeof m};
    add_word(words, "auto");
    for (int i = 0; i < sptrsm_method_count(); i++)
      if (sptrsm_method_at(&m, i) == SPTRSM_OK) add_word(words, m.name);
  } else if (strcmp(o->arg, "SYSTEM") == 0) {
    for (int s = 0; s < SPTRSM_SYS_COUNT; s++) add_word(words, sptrsm_system_name((sptrsm_system)s));
  } else if (strchr(o->arg, '|')) {
    add_word(words, o->arg);
    for (char *bar = words; (bar = strchr(bar, '|'));) *bar = ' ';
  }
}

/* ---- bash: the words that are offered after an option, and the options ---- */

static void bash_values(const char *program, const struct argp_option *o) {
  char words[WORDS];
  (void)program;
  list_values(words, o);
  if (words[0] == '\0') return;
  printf("    --%s=", o->name);
  if (!is_optional(o)) printf(" | --%s", o->name);
  if (!is_optional(o) && has_letter(o)) printf(" | -%c", o->key);
  printf(") words='%s' ;;\n", words);
}

static void bash_name(const char *program, const struct argp_option *o) {
  (void)program;
  printf(" --%s", o->name);
}

/* bash takes --option=value apart into three words. Where no word fits, it offers files. */
static void print_bash(const char *program, const char *function, const struct argp_option *const tables[2]) {
  printf("%s() {\n"
         "  local word=${COMP_WORDS[COMP_CWORD]} option=${COMP_WORDS[COMP_CWORD - 1]} words=\n"
         "  if [[ $word == = ]]; then\n"
         "    option+== word=\n"
         "  elif [[ $option == = ]]; then\n"
         "    option=${COMP_WORDS[COMP_CWORD - 2]}=\n"
         "  fi\n"
         "  case $option in\n",
         function);
  for_each(tables, program, bash_values);
  printf("    *) [[ $word != -* ]] || words='");
  for_each(tables, program, bash_name);
  printf("' ;;\n"
         "  esac\n"
         "  mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$word\")\n"
         "}\n"
         "complete -o bashdefault -o default -F %s %s\n",
         function, program);
}

/* ---- zsh: a specification for _arguments ---- */

static void zsh_option(const char *program, const struct argp_option *o) {
  char words[WORDS];
  const char *value = o->arg == NULL ? "" : is_optional(o) ? "=-" : "=";
  (void)program;
  list_values(words, o);
  if (has_letter(o)) printf(" \\\n    '(-%c --%s)'{-%c%s,--%s%s}'[%s]", o->key, o->name, o->key, o->arg ? "+" : "", o->name, value, o->doc);
  else printf(" \\\n    '--%s%s[%s]", o->name, value, o->doc);
  if (o->arg) printf("%s%s:", is_optional(o) ? "::" : ":", o->arg);
  if (words[0]) printf("(%s)", words);
  else if (o->arg && is_file(o)) printf("_files");
  putchar('\'');
}

/* The script is the function itself where zsh loads it by its name, and defines it where it is sourced. */
static void print_zsh(const char *program, const char *function, const struct argp_option *const tables[2]) {
  printf("%s() {\n  _arguments -s", function);
  for_each(tables, program, zsh_option);
  printf(" \\\n    '*:file:_files'\n}\n"
         "if [[ $funcstack[1] == _%s ]]; then\n"
         "  %s \"$@\"\n"
         "else\n"
         "  compdef %s %s\n"
         "fi\n",
         program, function, function, program);
}

/* ---- fish: a command for each option ---- */

static void fish_option(const char *program, const struct argp_option *o) {
  char words[WORDS];
  list_values(words, o);
  printf("complete -c %s -l %s", program, o->name);
  if (has_letter(o)) printf(" -s %c", o->key);
  if (o->arg && !is_optional(o)) printf(is_file(o) ? " -r -F" : " -x");
  if (words[0]) printf(" -a '%s'", words);
  printf(" -d '%s'\n", o->doc);
}

void completion_print(completion_shell shell, const char *program, const struct argp_option *const tables[2]) {
  static const char *const names[] = {"bash", "zsh", "fish"};
  char function[64];
  snprintf(function, sizeof function, "_%s_complete", program);
  for (char *c = function; *c; c++)
    if (*c == '-') *c = '_';
  if (shell == COMPLETION_ZSH) printf("#compdef %s\n", program);
  printf("# Completion of %s for %s, printed by `%s --completion %s`.\n", program, names[shell], program, names[shell]);
  if (shell == COMPLETION_BASH) print_bash(program, function, tables);
  if (shell == COMPLETION_ZSH) print_zsh(program, function, tables);
  if (shell == COMPLETION_FISH) for_each(tables, program, fish_option);
}
