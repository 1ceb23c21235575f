; A crane piles slabs on a few bases.
(define (domain stacks)
  (:requirements :strips :typing)
  (:types support - object slab base - support)
  (:predicates (upon ?s - slab ?t - support) (open ?t - support) (hooked ?s - slab) (unhooked))
  (:action hoist
    :parameters (?s - slab ?t - support)
    :precondition (and (upon ?s ?t) (open ?s) (unhooked))
    :effect (and (hooked ?s) (open ?t) (not (upon ?s ?t)) (not (unhooked)) (not (open ?s))))
  (:action lower
    :parameters (?s - slab ?t - support)
    :precondition (and (hooked ?s) (open ?t))
    :effect (and (upon ?s ?t) (open ?s) (unhooked) (not (hooked ?s)) (not (open ?t)))))
