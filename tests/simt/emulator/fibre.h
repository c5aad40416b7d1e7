/* fibre.h -- fibres: stacks that run in turn. A fibre is entered by ucontext. With GCC, later switches use the compiler's own
 * setjmp/longjmp, a few instructions without a system call. Those of clang lose registers, so with clang all switches use ucontext,
 * which is several times slower. AddressSanitizer is told of every switch. */
#ifndef TESTS_SIMT_EMULATOR_FIBRE_H
#define TESTS_SIMT_EMULATOR_FIBRE_H

#include <stddef.h>
#include <ucontext.h>

#include <memory>

#ifndef SIMT_WITH_ASAN /* the build defines it where this file is not instrumented but the kernels are */
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SIMT_WITH_ASAN 1
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define SIMT_WITH_ASAN 1
#endif
#endif
#ifndef SIMT_WITH_ASAN
#define SIMT_WITH_ASAN 0
#endif
#if SIMT_WITH_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__)
#define SIMT_QUICK_SWITCHES 1
#else
#define SIMT_QUICK_SWITCHES 0
#endif

namespace simt {

class fibre {
public:
  /* Without start(), a fibre stands for the stack that is first left through it. A finished fibre continues after finish(). */
  void start(void (*body)()) {
    if (finished) {
      finished = false;
      return;
    }
    if (!stack) stack.reset(new char[STACK_BYTES]);
#if SIMT_WITH_ASAN
    __asan_unpoison_memory_region(stack.get(), STACK_BYTES); /* the last lane on this stack may have been given up */
#endif
    getcontext(&context);
    context.uc_stack.ss_sp = stack.get();
    context.uc_stack.ss_size = STACK_BYTES - LINE_BYTES * (5 * stacks++ % 64);
    context.uc_link = nullptr;
    makecontext(&context, body, 0);
    entered = false;
  }

  /* Switches to another fibre; returns when one switches back. */
  __attribute__((noinline)) static void change(fibre &from, fibre &to) {
    void *fake = nullptr;
    leave(from, to, &fake);
#if SIMT_QUICK_SWITCHES
    if (__builtin_setjmp(from.saved) == 0) to.resume();
#else
    swapcontext(&from.context, &to.context);
#endif
    arrive(fake);
  }
  /* The fibre's work is done. Returns when it is started and switched to again. */
  static void finish(fibre &from, fibre &to) {
    from.finished = true;
    change(from, to);
  }
  /* Must be the first call on a new stack. */
  static void arrived() { arrive(nullptr); }

private:
  enum { STACK_BYTES = 64 * 1024, LINE_BYTES = 64 };
  static inline size_t stacks = 0; /* begun; they begin at different lines of a page, so that all find room in the cache */

#if SIMT_QUICK_SWITCHES
  /* Does not return. It is neither declared so nor instrumented, since AddressSanitizer would then clear the stack at every switch. */
  __attribute__((noinline, no_sanitize_address)) void resume() {
    if (entered) __builtin_longjmp(saved, 1);
    entered = true;
    setcontext(&context);
  }
  void *saved[5];
#endif

#if SIMT_WITH_ASAN
  static void leave(fibre &from, fibre &to, void **fake) {
    last = &from;
    __sanitizer_start_switch_fiber(fake, to.stack ? to.stack.get() : to.bottom, to.stack ? size_t(STACK_BYTES) : to.size);
  }
  static void arrive(void *fake) {
    const void *bottom;
    size_t size;
    __sanitizer_finish_switch_fiber(fake, &bottom, &size);
    if (!last->stack) last->bottom = bottom, last->size = size;
  }
  const void *bottom = nullptr; /* of the stack of a fibre without start() */
  size_t size = 0;
  static inline fibre *last = nullptr;
#else
  static void leave(fibre &, fibre &, void **) {}
  static void arrive(void *) {}
#endif

  std::unique_ptr<char[]> stack;
  ucontext_t context;
  [[maybe_unused]] bool entered = true;
  bool finished = false;
};

} // namespace simt
#endif
