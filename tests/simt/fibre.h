/* fibre.h -- stacks that run in turn. A first entry goes through ucontext; later switches are _setjmp/_longjmp, which save
 * no signal mask and so cost no system call. Under AddressSanitizer every switch is announced and goes through ucontext. */
#ifndef SIMT_FIBRE_H
#define SIMT_FIBRE_H

#include <setjmp.h>
#include <stddef.h>
#include <ucontext.h>

#include <memory>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#define SIMT_ANNOUNCED_SWITCHES 1
#else
#define SIMT_ANNOUNCED_SWITCHES 0
#endif

namespace simt {

class fibre {
public:
  /* A fibre without start() stands for the stack it is first switched away from. */
  void start(void (*body)()) {
    if (!stack) stack.reset(new char[STACK_BYTES]);
#if SIMT_ANNOUNCED_SWITCHES
    __asan_unpoison_memory_region(stack.get(), STACK_BYTES); /* frames of a lane that was given up */
#endif
    getcontext(&context);
    context.uc_stack.ss_sp = stack.get();
    context.uc_stack.ss_size = STACK_BYTES;
    context.uc_link = nullptr;
    makecontext(&context, body, 0);
    entered = false;
  }

#if SIMT_ANNOUNCED_SWITCHES
  __attribute__((noinline)) static void change(fibre &from, fibre &to) {
    void *fake = nullptr;
    __sanitizer_start_switch_fiber(&fake, to.stack ? to.stack.get() : to.main_bottom, to.stack ? size_t(STACK_BYTES) : to.main_size);
    last = &from;
    swapcontext(&from.context, &to.context);
    arrived(fake);
  }
  /* First thing on a new stack. */
  static void arrived(void *fake = nullptr) {
    const void *bottom;
    size_t size;
    __sanitizer_finish_switch_fiber(fake, &bottom, &size);
    if (!last->stack) last->main_bottom = bottom, last->main_size = size;
  }
#else
  __attribute__((noinline)) static void change(fibre &from, fibre &to) {
    if (_setjmp(from.saved)) return;
    if (to.entered) _longjmp(to.saved, 1);
    to.entered = true;
    setcontext(&to.context);
  }
  static void arrived() {}
#endif

private:
  enum { STACK_BYTES = 128 * 1024 };
  std::unique_ptr<char[]> stack;
  ucontext_t context;
  jmp_buf saved;
  bool entered = true;
#if SIMT_ANNOUNCED_SWITCHES
  const void *main_bottom = nullptr;
  size_t main_size = 0;
  static inline fibre *last = nullptr;
#endif
};

}  // namespace simt
#endif
